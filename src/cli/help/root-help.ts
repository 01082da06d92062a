import { colorLevel } from '../io/color.ts'
import { rootHelp } from './help.ts'

/** Returns the text of `gdn --help` for stdout. */
export async function rootHelpText(noColor: boolean): Promise<string> {
  const level = colorLevel(process.stdout, process.env, noColor)
  return await rootHelp(process.stdout.columns, level)
}
