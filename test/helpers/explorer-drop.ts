import { readFile } from 'node:fs/promises'
import { deflateSync } from 'node:zlib'
import {
  call,
  createTestCollection,
  mint,
  settled,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from './backend.ts'
import { store } from './explorer.ts'
import { holdSigning } from './hold.ts'

const MEDIA = new URL('../../examples/media/', import.meta.url)

export const pictureOf = (name: string): Promise<Buffer> => readFile(new URL(name, MEDIA))

/** A black PNG with one bit per pixel that every decoder accepts. It has few bytes, even if it is very large. */
export function blackPng(width: number, height: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 1
  const pixels = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const all = Buffer.alloc(12 + data.length)
  all.writeUInt32BE(data.length, 0)
  all.write(type, 4, 'latin1')
  data.copy(all, 8)
  all.writeUInt32BE(crc32(all.subarray(4, 8 + data.length)), 8 + data.length)
  return all
}

function crc32(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

/** A script that records its name in the window if a page runs it. */
const MARK = (name: string) => `window.ran = (window.ran || '') + '${name} '; alert('${name}')`

export const SCRIPTED_SVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40" onload="${MARK('svg-onload')}">
<script>${MARK('svg-script')}</script><image href="http://127.0.0.1:9/from-svg.png" width="1" height="1"/>
<a xlink:href="javascript:${MARK('svg-link')}"><circle cx="20" cy="20" r="16" fill="tomato" onclick="${MARK('svg-click')}"/></a></svg>`

export const SCRIPTS = {
  title: `<script>${MARK('title')}</script><img src=x onerror="${MARK('title-img')}">"'><svg onload=${MARK('t')}>`,
  description: `<iframe srcdoc="<script>${MARK('srcdoc')}</script>"></iframe> javascript:${MARK('description')} {{7*7}}`,
  tag: `"><script>${MARK('tag')}</script>`,
  value: `javascript:${MARK('value')}`,
  /** Without white space and slashes, which the server rejects. */
  receiverName: `"><script>window.ran='name'&alert('name').eth`,
}

export interface Drop {
  collection: TestCollection
  /** NFT IDs by their special feature. */
  nfts: Record<string, string>
}

/** Mints NFTs that are as hostile as the API allows. All of them are deployed. */
export async function hostileDrop(backend: TestBackend): Promise<Drop> {
  const collection = await createTestCollection(backend, { name: SCRIPTS.title, description: SCRIPTS.description })
  const put = (content: Uint8Array | string) => store(backend, content)
  const image = async (content: Uint8Array | string) => [{ key: 'image', url: await put(content) }]
  const html = `<!doctype html><html><script>${MARK('html')}</script></html>`
  const plain = { description: '', file_fields: [] }
  const odd: Record<string, object> = {
    scripts: {
      title: SCRIPTS.title,
      description: SCRIPTS.description,
      file_fields: await image(SCRIPTED_SVG),
      attribute: [{ tag: SCRIPTS.tag, value: SCRIPTS.value }],
      external_url: SCRIPTS.value,
    },
    html: {
      title: 'A page for a picture',
      description: '',
      file_fields: [...(await image(html)), { key: 'animation_url', url: await put(html) }],
    },
    broken: { ...plain, title: 'No picture', file_fields: await image(Buffer.from('89504e470d0a1a0a00', 'hex')) },
    huge: { ...plain, title: 'A wall', file_fields: await image(blackPng(20_000, 20_000)) },
    model: { ...plain, title: 'A model', file_fields: [{ key: 'model', url: await put('glTF\u0002\0\0\0 and more') }] },
    rtl: {
      ...plain,
      title: 'الليل والبحر',
      description: 'وصف with English',
      attribute: [{ tag: 'لون', value: 'أزرق' }],
    },
    emoji: { ...plain, title: '🌊🐚🦀 👩‍👩‍👧‍👦'.repeat(4) },
    reversed: { ...plain, title: 'abc\u202egnp.exe' },
    long: { ...plain, title: 'x'.repeat(500), description: 'y'.repeat(200_000) },
    blank: { ...plain, title: '\u200b \u2800' },
    stacked: { ...plain, title: `Z${'\u0338\u0315\u033f\u0352\u0313'.repeat(60)}algo` },
    lines: { ...plain, title: 'a\nb\tc\n\n\nd', description: 'one\n\n\n\ntwo' },
  }
  const names = Object.keys(odd)
  const ids = await mint(backend, collection, Object.values(odd), {
    name: SCRIPTS.receiverName,
    headers: { 'gdn-run': HOSTILE_RUN },
  })
  await settled(backend, ids)
  return { collection, nfts: Object.fromEntries(names.map((name, index) => [name, ids[index] ?? ''])) }
}

export const HOSTILE_RUN = 'fade0ff1ce000001'

/** Mints a few NFTs with real images in one run. */
export async function pictureDrop(backend: TestBackend, count: number, run: string): Promise<Drop> {
  const collection = await createTestCollection(backend, { name: 'Tidal Hours', description: 'For every hour.' })
  const files = ['00-low-moon.png', '01-undertow.svg', '02-night-market.png', '03-clockwork.svg']
  const urls = await Promise.all(files.map(async (name) => store(backend, await pictureOf(name))))
  const metadata = Array.from({ length: count }, (_, index) => ({
    title: `Low moon ${index + 1}`,
    description: 'The tide at this hour.',
    file_fields: [{ key: 'image', url: urls[index % urls.length] }],
    attribute: [{ tag: 'hour', value: String(index) }],
  }))
  const ids = await mint(backend, collection, metadata, { receiver: WALLETS[1], headers: { 'gdn-run': run } })
  await settled(backend, ids)
  return { collection, nfts: Object.fromEntries(ids.map((id, index) => [String(index), id])) }
}

export interface LivedDrop {
  collection: TestCollection
  /** An NFT that was updated twice and frozen, with a pending transfer. */
  updated: string
  burned: string
}

/** Mints NFTs and lets something happen to them. The transfer stays pending while `dataDir` has its trigger. */
export async function livedDrop(backend: TestBackend, dataDir: string): Promise<LivedDrop> {
  const [ALICE, BOB] = WALLETS
  const collection = await createTestCollection(backend, {
    ...{ name: 'Living tides', description: 'It changes with the moon.', dynamic: true, enable_burn: true },
    ...{ enable_transfer: true, royalty_bps: 500, royalty_receiver: ALICE },
  })
  const { address: contract_address, blockchain } = collection
  const image = async (name: string) => [{ key: 'image', url: await store(backend, await pictureOf(name)) }]
  const [moon, market] = [await image('00-low-moon.png'), await image('02-night-market.png')]
  const titled = (title: string, file_fields: object[], more: object = {}) => ({
    ...{ title, description: 'The tide at this hour.', file_fields, ...more },
  })
  const ids = await mint(backend, collection, [titled('Low moon', moon), titled('Ash', market), titled('Oak', moon)])
  const [updated = '', burned = ''] = ids
  const [nft] = await settled(backend, ids)
  const done = async (endpoint: 'updatednft' | 'freezenft' | 'burnnft', body: object) => {
    const { response } = await call(backend, endpoint, { contract_address, ...body })
    const request = { transaction_gdn_ids: [response.transaction_gdn_id] }
    await until(
      () => call(backend, 'gettransactions', request),
      ({ transactions }) => transactions[0]?.status === 'deployed',
    )
  }
  const attribute = [
    { tag: 'phase', value: 'full' },
    { tag: SCRIPTS.tag, value: SCRIPTS.value },
  ]
  await done('updatednft', { nft_gdn_id: updated, metadata: [titled('Moonrise', market, { attribute })] })
  const description = `${SCRIPTS.description} ${'The tide comes and goes. '.repeat(40)}`
  const second = { ...titled(SCRIPTS.title, moon, { attribute }), description }
  await done('updatednft', { nft_gdn_id: updated, metadata: [second] })
  await done('freezenft', { nft_gdn_ids: [updated] })
  await done('burnnft', { nft_gdn_id: burned, holder_wallet_address: BOB })
  await holdSigning(dataDir, 'transfer')
  await call(backend, 'transfernft', {
    ...{ contract_address, blockchain, nft_gdn_id: updated, token_id: nft?.token_id },
    ...{ sender_wallet_address: BOB, receiver_wallet_address: ALICE },
  })
  return { collection, updated, burned }
}
