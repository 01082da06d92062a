/** An output stream of the process or of a test. */
export interface OutStream extends Partial<Drainable> {
  isTTY?: boolean
  columns?: number
  rows?: number
  write(text: string): unknown
  getColorDepth?: (env?: object) => number
}

/** The events of a stream that signal when it accepts more data. */
interface Drainable {
  once(event: 'drain' | 'close' | 'error', listener: () => void): unknown
  off(event: 'drain' | 'close' | 'error', listener: () => void): unknown
}
