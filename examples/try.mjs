// `npm run try`: from a fresh clone to 24 NFTs on a local chain. Each run creates a new collection.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../src/build/paths.mjs'
import { setUp } from '../src/build/setup.mjs'
import { gdnJson, gdnShown } from './gdn.mjs'
import { verifyDrop } from './verify.mjs'

const NAME = 'Tidal Hours'
const CREATOR = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const TARGET = ['--local', '-b', 'polygon']

async function tryIt() {
  await setUp((line) => say(`· ${line}`), { programOnly: true })

  const { running } = await gdnJson('local', 'status')
  const { url } = await gdnJson('local', 'start')
  say(`✓ ${running ? 'the local backend is already running' : 'a local backend started'}: ${url}`)

  const collection = await gdnJson('collection', 'create', ...TARGET, '--name', NAME, '--wallet', CREATOR)
  const contract = collection.contract_address
  say(`✓ collection "${NAME}"${running ? ' (each run creates a new one)' : ''}\n  ${contract} on polygon`)

  say('· minting examples/drop.csv')
  await gdnShown(['batch', 'mint', 'examples/drop.csv', ...TARGET, '-c', contract], { result: false })

  const nfts = await gdnJson('nft', 'list', ...TARGET, '-c', contract)
  const rows = JSON.parse(await readFile(join(root, 'examples', 'drop.json'), 'utf8'))
  const folder = join(root, 'examples')
  const faults = await verifyDrop({ url, blockchain: 'polygon', contract, nfts, rows, folder })
  if (faults.length > 0) throw new Error(`the chain differs from the manifest:\n${faults.join('\n')}`)
  const owners = new Set(nfts.map((nft) => nft.receiver_wallet_address)).size
  say(`✓ verified on chain: ${nfts.length} tokens, ${owners} owners,\n  every token URI and file as requested\n`)

  await gdnShown(['nft', 'list', ...TARGET, '-c', contract])
  say(whatNext(url, contract, nfts[0]))
}

function whatNext(url, contract, nft) {
  return `
The backend is still running. Look at what was minted: ${url}
gdn's hints begin with gdn. To run them, put it on your PATH with npm link.
Four things to try:
  node bin/gdn.js open ${contract} --local
  node bin/gdn.js nft show ${nft.nft_gdn_id} --local
  node bin/gdn.js nft mint --local -b polygon \\
    -c ${contract} \\
    --receiver ${CREATOR} --title "One more"
  node bin/gdn.js nft list --local -b polygon \\
    -c ${contract} -o csv
To stop the backend:
  node bin/gdn.js local stop`
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

await tryIt().catch((error) => {
  process.stderr.write(`\n✗ ${error.message}\n`)
  process.exitCode = 1
})
