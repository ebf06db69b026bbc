#!/usr/bin/env bash
# What action.yml runs in a learner's repository: grade it, annotate, and summarise.
set -euo pipefail
work="$(mktemp -d "${RUNNER_TEMP:-/tmp}/handgrad-XXXXXX")"
units=()
[ -z "${UNIT:-}" ] || units=(--unit "$UNIT")

# Nothing that is printed while learner code is graded is a command for the runner.
token="handgrad-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$token"
graded=0
handgrad grade --one exercises --yes --out "$work/record.json" || graded=$?
exported=0
handgrad export "$work/record.json" --to github --out "$work/shown" "${units[@]}" || exported=$?
echo "::$token::"
[ "$exported" -eq 0 ] || [ "$exported" -eq 3 ] || exit "$exported"

cat "$work/shown/annotations.txt"
cat "$work/shown/summary.md" >> "$GITHUB_STEP_SUMMARY"
[ "$graded" -le 1 ] && [ "$exported" -eq 0 ] || exit 3

summary="$work/shown/summary.md"
sed -n '1s/^## \(.*\) of \(.*\) points$/score=\1\nmax-score=\2/p' "$summary" >> "$GITHUB_OUTPUT"
[ "${REQUIRE_SOLVED:-false}" != true ] || grep -q '^## \(.*\) of \1 points$' "$summary"
