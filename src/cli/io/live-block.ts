import { paintedWidth } from '../text/display-width.ts'
import type { OutStream } from './out-stream.ts'

/** Lines at the bottom of a terminal that are updated in place. */
export interface LiveBlock {
  show(lines: readonly string[]): void
  /** Removes the lines, runs `write`, and shows the lines again. */
  writeAbove(write: () => void): void
  /** Removes the lines permanently. */
  end(): void
}

const ESC = '\u001b['
const HIDE_CURSOR = `${ESC}?25l`
const SHOW_CURSOR = `${ESC}?25h`
const TO_LINE_END = `${ESC}K`
const TO_SCREEN_END = `${ESC}J`

/**
 * Creates a live block. Each update overwrites the previous lines in a single write, without clearing them first, which
 * avoids flicker. The cursor stays below the lines. It is hidden only during a write, so that it is still visible if
 * the process is killed.
 */
export function createLiveBlock(stream: OutStream & { rows?: number }): LiveBlock {
  let shownLines: readonly string[] = []
  let shownAt = stream.columns

  /**
   * Returns the sequence that moves the cursor to the first line. Takes into account that lines wrap when the terminal
   * becomes narrower.
   */
  const up = (): string => {
    const columns = stream.columns || Number.POSITIVE_INFINITY
    const rows = shownLines.reduce((sum, line) => sum + Math.max(1, Math.ceil(paintedWidth(line) / columns)), 0)
    return rows === 0 ? '' : `\r${ESC}${rows}A`
  }

  const draw = (lines: readonly string[]): void => {
    const text = lines.map((line) => `${line}${TO_LINE_END}\n`).join('')
    // Clear the old lines after a resize. A terminal remembers where it wrapped a line, and joins the parts when it
    // gets wider.
    const wipe = stream.columns === shownAt ? '' : TO_SCREEN_END
    stream.write(`${HIDE_CURSOR}${up()}${wipe}${text}${TO_SCREEN_END}${SHOW_CURSOR}`)
    shownLines = lines
    shownAt = stream.columns
  }

  return {
    show(lines) {
      // Lines that scrolled off the screen can't be updated.
      const fitting = lines.slice(0, Math.max(1, (stream.rows || 24) - 2))
      if (
        stream.columns === shownAt &&
        fitting.length === shownLines.length &&
        fitting.every((line, i) => line === shownLines[i])
      )
        return
      draw(fitting)
    },
    writeAbove(write) {
      const lines = shownLines
      if (lines.length > 0) draw([])
      write()
      if (lines.length > 0) draw(lines)
    },
    end() {
      if (shownLines.length > 0) draw([])
    },
  }
}
