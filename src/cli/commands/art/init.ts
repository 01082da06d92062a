import { count } from '../../../core/count.ts'
import { listSome } from '../../../core/list-some.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addCommonFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'

/** Maximum number of skipped files that a note lists. */
const MAX_LISTED_FILES = 5

export function command(deps: Deps, run = init): GdnCommand {
  return new GdnCommand({
    about:
      'The folder contains one folder for each layer. The layers are in the order of the folder names, from the bottom to the top. A number at the beginning of a folder name, as in 01_Background, only determines the order of the layers. Each image is a trait. gdn skips files such as readme.txt. A weight in a file name, such as 20 in Blue#20.png, becomes the weight of the trait. Write art.yaml to the folder from which you run the command, because the paths in art.yaml are relative to that folder. If you redirect the output with >, the shell empties an existing art.yaml before gdn runs.',
    examples: [
      ['Write art.yaml for a folder of layers', 'gdn art init layers > art.yaml'],
      ['Check the file', 'gdn art check art.yaml --count 1000'],
    ],
  })
    .argument('<folder>')
    .with(addCommonFlags)
    .action(async (folder: string) => await run(deps, folder))
}

export async function init({ io, cwd }: Pick<Deps, 'io' | 'cwd'>, folder: string): Promise<void> {
  const { readLayerFolders } = await import('../../../art/layer-folders.ts')
  const { printArt } = await import('../../../art/print-art.ts')
  const skipped: string[] = []
  const layers = await readLayerFolders(folder, cwd, (path) => skipped.push(path))
  const traits = layers.reduce((sum, layer) => sum + layer.traits.length, 0)
  await io.data(printArt(layers, folder))
  if (skipped.length > 0) {
    const shownFiles = listSome(skipped.slice(0, MAX_LISTED_FILES), skipped.length, ' and')
    io.note(safe(`Skipped ${count(skipped.length, 'file')}: ${shownFiles}`))
  }
  io.note(`Found ${count(layers.length, 'layer')} with ${count(traits, 'trait')}.
Check the file: gdn art check art.yaml --count <n>`)
}
