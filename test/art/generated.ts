import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { gdnAt } from '../helpers/gdn-at.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const SIDE = 64
/** Art needs no server. */
export const NO_SERVER = { url: 'http://127.0.0.1:9', apiKey: 'x' }

export interface ArtFolder {
  path(name: string): string
  /** Runs the built `gdn art generate` in the folder. */
  gdn: ReturnType<typeof gdnAt>
  write(name: string, content: string | Buffer): Promise<void>
  /** Returns the files of a folder with their bytes. */
  files(name: string): Promise<Map<string, string>>
}

/** Returns the bytes of an image of one color with a mark, so that each is different. */
export async function layerImage(layer: number, trait: number, side = SIDE): Promise<Buffer> {
  const data = Buffer.alloc(side * side * 4)
  for (let at = 0; at < side * side; at++) {
    const isVisible = layer === 0 || (at + trait * 7) % (layer + 2) === 0
    if (isVisible)
      data.set([(layer * 70 + at) % 256, (trait * 60) % 256, (at * 3) % 256, layer === 2 ? 120 : 255], at * 4)
  }
  return await sharp(data, { raw: { width: side, height: side, channels: 4 } })
    .png()
    .toBuffer()
}

const ART = `title: "Tide #{number}"
description: One of many
layers:
  - name: Sky
    traits: { Blue: { file: 0-0.png }, Red: { file: 0-1.png, weight: 2 }, Gray: { file: 0-2.png } }
  - name: Level
    type: number
    max: 9
    traits: { "1": { file: 1-0.png }, "2": { file: 1-1.png }, "3": { file: 1-2.png } }
  - name: Hat
    optional: 30%
    blend: multiply
    opacity: 0.5
    traits: { Cap: { file: 2-0.png }, Crown: { file: 2-1.png }, Secret: { file: 2-2.png, hidden: true } }
one_of_ones:
  - { at: 2, image: one.gif, title: The Whale, attributes: { Sky: Whale, Special: =cmd } }
`

/** Makes a folder with `art.yaml` and its images. */
export async function artFolder(art = ART): Promise<ArtFolder> {
  const folder = await temporaryFolder('gdn-art-')
  const path = (name: string) => join(folder, name)
  await writeFile(path('art.yaml'), art)
  const one = sharp({ create: { width: SIDE, height: SIDE, channels: 3, background: '#fa0' } })
  await writeFile(path('one.gif'), await one.gif().toBuffer())
  for (let layer = 0; layer < 3; layer++) {
    for (let trait = 0; trait < 3; trait++)
      await writeFile(path(`${layer}-${trait}.png`), await layerImage(layer, trait))
  }
  const home = path('home')
  await mkdir(home)
  return {
    path,
    gdn: gdnAt(NO_SERVER, home),
    write: (name, content) => writeFile(path(name), content),
    async files(name) {
      const names = (await readdir(path(name), { recursive: true, withFileTypes: true })).filter((entry) =>
        entry.isFile(),
      )
      const read = names.map(async ({ parentPath, name: file }) => {
        const full = join(parentPath, file)
        return [full.slice(path(name).length + 1), (await readFile(full)).toString('base64')] as const
      })
      return new Map((await Promise.all(read)).sort(([a], [b]) => (a < b ? -1 : 1)))
    },
  }
}
