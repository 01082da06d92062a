import { displayWidth } from '../text/display-width.ts'
import type { OutStream } from './out-stream.ts'

/** Some lines at the foot of a terminal that are written over in place. */
export interface LiveBlock {
  show(lines: readonly string[]): void
  /** Does something that writes, with the lines out of its way. */
  aside(write: () => void): void
  /** Takes the lines away for good. */
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
 * Makes the block. Each picture is one write, over the one before and not after wiping it, so that nothing flickers;
 * the cursor is hidden within a write only, so that no way of ending leaves it hidden. It rests below the lines.
 */
export function createLiveBlock(stream: OutStream & { rows?: number }): LiveBlock {
  let shown: readonly string[] = []
  let shownAt = stream.columns

  /** Back to the first line. A terminal that became narrower has folded the lines meanwhile. */
  const up = (): string => {
    const columns = stream.columns || Number.POSITIVE_INFINITY
    const rows = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
    return rows === 0 ? '' : `\r${ESC}${rows}A`
  }

  const draw = (lines: readonly string[]): void => {
    const text = lines.map((line) => `${line}${TO_LINE_END}\n`).join('')
    // A terminal remembers where it folded a line, and would join others there when it gets wider, unless that is wiped.
    const wipe = stream.columns === shownAt ? '' : TO_SCREEN_END
    stream.write(`${HIDE_CURSOR}${up()}${wipe}${text}${TO_SCREEN_END}${SHOW_CURSOR}`)
    shown = lines
    shownAt = stream.columns
  }

  return {
    show(lines) {
      // What doesn't fit on the screen could not be written over.
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
