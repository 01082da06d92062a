import ora from 'ora'
import { terminalText } from '../core/terminal-text.ts'
import type { Progress } from './io.ts'

/** A spinner on stderr. `discardStdin` is off: it would swallow Ctrl-C. */
export function spinner(text: string): Progress {
  const running = ora({
    text: terminalText(text),
    stream: process.stderr,
    discardStdin: false,
    isEnabled: true,
  }).start()
  return {
    update: (next) => {
      running.text = terminalText(next)
    },
    stop: () => void running.stop(),
  }
}
