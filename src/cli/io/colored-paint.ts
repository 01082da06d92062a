import { Chalk } from 'chalk'
import type { ColorLevel } from './color.ts'
import type { Paint } from './paint.ts'

/** Returns colors for one stream. chalk's default instance ignores NO_COLOR and does not know its stream. */
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
