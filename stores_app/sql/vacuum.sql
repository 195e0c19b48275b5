-- Gives the space of deleted rows back for use, and lets the planner know what is left.
VACUUM (ANALYZE) {table}
