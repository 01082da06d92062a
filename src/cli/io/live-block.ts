import { displayWidth } from '../text/display-width.ts'
import type { OutStream } from './out-stream.ts'

/** Lines at the bottom of a terminal that are updated in place. */
export interface LiveBlock {
  show(lines: readonly string[]): void
  /** Runs a function that writes, with the lines removed meanwhile. */
  aside(write: () => void): void
  /** Removes the lines permanently. */
  end(): void
}

const ESC = '\u001b['
const HIDE_CURSOR = `${ESC}?25l`
const SHOW_CURSOR = `${ESC}?25h`
const TO_LINE_END = `${ESC}K`
const TO_SCREEN_END = `${ESC}J`
const COLORS = /\u001b\[[\d;]*m/g

const widthOf = (line: string) => displayWidth(line.replace(COLORS, ''))

/**
 * Creates the block. Each update is one write over the previous lines, without clearing them first, so that nothing
 * flickers. The cursor is hidden only during a write, so that it is never left hidden. It stays below the lines.
 */
export function createLiveBlock(stream: OutStream & { rows?: number }): LiveBlock {
  let shown: readonly string[] = []
  let shownAt = stream.columns

  /** Moves to the first line. A terminal that became narrower has wrapped the lines. */
  const up = (): string => {
    const columns = stream.columns || Number.POSITIVE_INFINITY
    const rows = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
    return rows === 0 ? '' : `\r${ESC}${rows}A`
  }

  const draw = (lines: readonly string[]): void => {
    const text = lines.map((line) => `${line}${TO_LINE_END}\n`).join('')
    // A terminal remembers where it wrapped a line, and would join other lines there when it gets wider.
    const wipe = stream.columns === shownAt ? '' : TO_SCREEN_END
    stream.write(`${HIDE_CURSOR}${up()}${wipe}${text}${TO_SCREEN_END}${SHOW_CURSOR}`)
    shown = lines
    shownAt = stream.columns
  }

  return {
    show(lines) {
      // Lines that do not fit on the screen can't be updated.
      const fitting = lines.slice(0, Math.max(1, (stream.rows || 24) - 2))
      if (
        stream.columns === shownAt &&
        fitting.length === shown.length &&
        fitting.every((line, i) => line === shown[i])
      )
        return
      draw(fitting)
    },
    aside(write) {
      const lines = shown
      if (lines.length > 0) draw([])
      write()
      if (lines.length > 0) draw(lines)
    },
    end() {
      if (shown.length > 0) draw([])
    },
  }
}
