"""LogMiner: DBMS_LOGMNR per session, redo records as rows of V$LOGMNR_CONTENTS with their SQL_REDO and SQL_UNDO."""
