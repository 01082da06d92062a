import { Chalk } from 'chalk'
import type { ColorLevel } from './color.ts'
import type { Paint } from './paint.ts'

/** A chalk of its own for one stream: chalk's default instance knows neither NO_COLOR nor which stream it writes to. */
export function coloredPaint(level: ColorLevel): Paint {
  const chalk = new Chalk({ level })
  return {
    bold: (text) => chalk.bold(text),
    dim: (text) => chalk.dim(text),
    good: (text) => chalk.green(text),
    bad: (text) => chalk.red(text),
    busy: (text) => chalk.yellow(text),
  }
}
