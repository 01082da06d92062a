import { colourLevel } from '../io/colour.ts'
import { rootHelp } from './help.ts'

/** `gdn --help` for stdout. */
export async function rootHelpText(noColour: boolean): Promise<string> {
  const level = colourLevel(process.stdout, process.env, noColour)
  return await rootHelp(process.stdout.columns, level)
}
