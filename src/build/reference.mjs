// The man page and the Markdown reference of the commands, from what `gdn help --json` prints.
import { join } from 'node:path'
import { readHelp } from './command-tree.mjs'
import { manPage } from './man-page.mjs'
import { commandsMarkdown } from './markdown.mjs'

/** @returns what goes into the folder of the build */
export async function referenceFiles(folder) {
  const help = await readHelp()
  return [
    { path: join(folder, 'man', 'gdn.1'), contents: Buffer.from(manPage(help)) },
    { path: join(folder, 'docs', 'commands.md'), contents: Buffer.from(commandsMarkdown(help)) },
  ]
}
