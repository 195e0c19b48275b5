-- Nobody else reads or writes these tables until the transaction ends. Reads no row.
LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE
