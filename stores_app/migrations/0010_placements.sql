-- A placement goes with its collection, and with it what waits for it. A connection stays while one leads through it.
ALTER TABLE stores_placement
    ADD CONSTRAINT placement_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE,
    ADD CONSTRAINT placement_connection_fk FOREIGN KEY (connection_id)
    REFERENCES connections_connection (id) ON DELETE RESTRICT NOT DEFERRABLE;
ALTER TABLE stores_outgoing
    ADD CONSTRAINT outgoing_placement_fk FOREIGN KEY (placement_id)
    REFERENCES stores_placement (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE stores_leftover
    ADD CONSTRAINT leftover_connection_fk FOREIGN KEY (connection_id)
    REFERENCES connections_connection (id) ON DELETE CASCADE NOT DEFERRABLE;

-- However a placement goes, with its collection too: what was made for it elsewhere is to go as well.
CREATE FUNCTION stores_leave_placement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.is_ours THEN
        INSERT INTO stores_leftover (connection_id, name_there) VALUES (OLD.connection_id, OLD.name_there);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER placement_left AFTER DELETE ON stores_placement
    FOR EACH ROW EXECUTE FUNCTION stores_leave_placement();
