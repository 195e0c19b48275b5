-- Test cases go with their collection, judgements and runs with their case.
ALTER TABLE search_testcase
    ADD CONSTRAINT testcase_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE search_judgement
    ADD CONSTRAINT judgement_case_fk FOREIGN KEY (case_id)
    REFERENCES search_testcase (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE search_testrun
    ADD CONSTRAINT testrun_case_fk FOREIGN KEY (case_id)
    REFERENCES search_testcase (id) ON DELETE CASCADE NOT DEFERRABLE;
