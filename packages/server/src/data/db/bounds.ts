/**
 * How many rows of an account a query for a person may read, if no index leads to the result: 5,000 take about 2 ms on
 * SQLite, which blocks the event loop. A query that needs more must find an index, or stored sums.
 */
export const maxRowsRead = 5_000;
