import { colourLevel } from './colour.ts'
import { rootHelp } from './help.ts'

/** `gdn --help` on stdout. A reader that goes away early is no error. */
export async function printRootHelp(noColour: boolean): Promise<void> {
  process.stdout.on('error', () => {})
  const level = colourLevel(process.stdout, process.env, noColour)
  process.stdout.write(await rootHelp(process.stdout.columns, level))
}
