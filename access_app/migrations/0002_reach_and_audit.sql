-- The audit log is appended to. Rows go when their time is over, and never change.
CREATE FUNCTION access_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries of the audit log cannot be changed' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON access_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION access_refuse_change();
