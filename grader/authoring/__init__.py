"""What a course author needs: the audit, derived files, exports."""
