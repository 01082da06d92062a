/** Options of one call. */
export interface CallOptions {
  /** Cancels the call. A request that was sent may still take effect. */
  signal?: AbortSignal | undefined
}

/** A file to upload, for `file_fields`. */
export interface FileToUpload {
  /** The path of the file, or its bytes. */
  file: string | Uint8Array
  /** The file's name with an extension, such as `dawn.png`. Default: the name in the path. */
  name?: string | undefined
}
