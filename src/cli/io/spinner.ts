import ora from 'ora'
import { terminalText } from '../../core/terminal-text.ts'
import type { OutStream } from './out-stream.ts'
import type { Progress } from './progress.ts'

const USUAL_COLUMNS = 80

/** A terminal with a width: a terminal that tells none says 0 columns, by which a line of text would be endlessly high. */
function withColumns(stream: OutStream): NodeJS.WriteStream {
  return Object.create(stream, { columns: { get: () => stream.columns || USUAL_COLUMNS } }) as NodeJS.WriteStream
}

/**
 * A spinner on stderr. `discardStdin` is off: it would swallow Ctrl-C.
 *
 * @param stderr a terminal
 * @param colored the library would ask no NO_COLOR
 */
export function spinner(text: string, stderr: OutStream, colored: boolean): Progress {
  const running = ora({
    text: terminalText(text),
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
