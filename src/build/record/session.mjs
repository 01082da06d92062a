// The recorded session in the README: a drop is killed midway, and the same command mints the rest.
import { join } from 'node:path'
import { root } from '../paths.mjs'

export const SCREEN = { columns: 92, rows: 17 }
export const TITLE =
  'A terminal: a drop of 24 NFTs is killed midway, and the same command mints the rest. All 24 are minted, none twice.'
const BIN = join(root, 'bin', 'gdn.js')
const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const PROMPT = '\u001b[32m$\u001b[0m '
const MINT = 'gdn batch mint examples/drop.csv'

/**
 * Records the session with the backend of a home directory, which must be running.
 *
 * @param gdn runs gdn with arguments, and returns its output
 */
export async function recordSession(recorder, env, gdn) {
  const contract = await gdn('collection', 'create', '--name', 'Tidal Hours', '--wallet', WALLET, '-o', 'ids')
  const inCollection = { ...env, GDN_CONTRACT: contract.trim() }
  const shown = async (line, program, args, options) => {
    await recorder.write(PROMPT)
    recorder.hold(300)
    await recorder.type(line)
    await recorder.run(program, args, inCollection, options)
    recorder.hold(900)
  }
  const mint = [BIN, 'batch', 'mint', join(root, 'examples', 'drop.csv')]
  await shown(`${MINT}  # kill -9 in the middle`, process.execPath, mint, { killAt: /10 accepted/ })
  await shown(`${MINT}  # the same command again`, process.execPath, mint)
  const count = `"${process.execPath}" "${BIN}" nft list -o ids | wc -l`
  await shown('gdn nft list -o ids | wc -l  # 24 of 24, none twice', 'sh', ['-c', count])
  await recorder.write(PROMPT)
  recorder.hold(1500)
}
