import { Chalk } from 'chalk'
import type { ColorLevel } from './color.ts'
import type { Paint } from './paint.ts'

/**
 * Returns the paint for one stream. Doesn't use chalk's default instance, because it ignores NO_COLOR and whether the
 * stream is a terminal.
 */
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
