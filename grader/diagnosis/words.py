from .mistake import Diagnosis, Mistake
from .ladders import hints_for
def finding(m): return Diagnosis(m.code, " & ".join(f"{f.operator} {dict(f.parameters)}" for f in m.facts), m.hints, m)
