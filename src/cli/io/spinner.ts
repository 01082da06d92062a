import ora from 'ora'
import { terminalText } from '../../core/terminal-text.ts'
import { clock } from '../text/clock.ts'
import type { OutStream } from './out-stream.ts'
import type { Progress } from './progress.ts'

const DEFAULT_COLUMNS = 80
/** Time in milliseconds after which a wait shows the elapsed time. */
const SHOW_ELAPSED_AFTER_MS = 10_000

/** Sets a width for a terminal that reports 0 columns. Otherwise, ora would count the text as infinitely many lines. */
function withColumns(stream: OutStream): NodeJS.WriteStream {
  return Object.create(stream, { columns: { get: () => stream.columns || DEFAULT_COLUMNS } }) as NodeJS.WriteStream
}

/**
 * Starts a spinner on stderr. Turns `discardStdin` off, because its raw mode can delay Ctrl-C.
 *
 * @param stderr a terminal
 * @param colored whether to use color. ora itself ignores NO_COLOR.
 */
export function spinner(text: string, stderr: OutStream, colored: boolean): Progress {
  const since = performance.now()
  const elapsedMs = () => performance.now() - since
  const running = ora({
    text: terminalText(text),
    suffixText: () => (elapsedMs() < SHOW_ELAPSED_AFTER_MS ? '' : clock(elapsedMs())),
    stream: withColumns(stderr),
    discardStdin: false,
    isEnabled: true,
    color: colored ? 'cyan' : false,
  }).start()
  return {
    update: (next) => {
      running.text = terminalText(next)
    },
    stop: () => void running.stop(),
  }
}
