/**
 * Returns whether an HTTP status means that the same request may succeed later: 408 (Request Timeout), 425 (Too Early),
 * 429 (Too Many Requests) or any 5xx.
 */
export const isTemporaryStatus = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status)

/**
 * Returns whether an HTTP status of an S3 or IPFS service means that the same request may succeed later. These services
 * don't use 408 and 425: S3 reports a slow upload as `RequestTimeout` with 400.
 */
export const isTemporaryStorageStatus = (status: number): boolean => status >= 500 || status === 429

/**
 * Returns whether a status means that the server is busy or unreachable behind a proxy. A read is then repeated after a
 * few seconds. Excludes 500, because an internal error rarely disappears within seconds.
 */
export const isBusyStatus = (status: number): boolean => [429, 502, 503, 504].includes(status)
