/** Maximum number of rows that the details of an error or a report list. */
export const MAX_LISTED_ROWS = 50
