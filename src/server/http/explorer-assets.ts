import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { systemCode } from '../../core/errors.ts'

const decompress = promisify(gunzip)

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

export interface Asset {
  contentType: string
  gzipped: Buffer
  plain: () => Promise<Buffer>
}

export interface ExplorerAssets {
  page: string
  assets: ReadonlyMap<string, Asset>
  /** Returns a file by its role, gzipped; null for an unknown role. */
  built: (name: string) => Buffer | null
}

interface Bundle {
  /** File names by role. */
  entries: Readonly<Record<string, string>>
  files: readonly { name: string; contents: Buffer }[]
}

let loading: Promise<ExplorerAssets> | undefined

/** Returns the page of the web explorer and its files. They are read on the first request. */
export function loadExplorer(): Promise<ExplorerAssets> {
  loading ??= load().catch((error) => {
    loading = undefined
    throw error
  })
  return loading
}

async function load(): Promise<ExplorerAssets> {
  const { entries, files } = (await readBuilt()) ?? (await buildNow())
  const assets = new Map(files.map(({ name, contents }) => [name, toAsset(name, contents)]))
  return { page: renderPage(entries), assets, built: (name) => assets.get(entries[name] ?? '')?.gzipped ?? null }
}

function toAsset(name: string, gzipped: Buffer): Asset {
  const contentType = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  return { contentType, gzipped, plain: () => decompress(gzipped) }
}

/** Reads the files of the published package. Returns null in a checkout that runs from its sources. */
async function readBuilt(): Promise<Bundle | null> {
  const folder = new URL('../explorer/', import.meta.url)
  try {
    const entries = JSON.parse(await readFile(new URL('assets.json', folder), 'utf8'))
    const names = Object.values(entries) as string[]
    const read = async (name: string) => ({ name, contents: await readFile(new URL(`${name}.gz`, folder)) })
    return { entries, files: await Promise.all(names.map(read)) }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Builds the files from the current sources. */
async function buildNow(): Promise<Bundle> {
  const builder = new URL('../../build/explorer.mjs', import.meta.url).href
  const { bundleExplorer } = await import(builder)
  return await bundleExplorer()
}

const renderPage = (entries: Bundle['entries']) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gdn explorer</title>
<link rel="icon" type="image/svg+xml" href="/explorer/assets/${entries['icon.svg']}">
<script src="/explorer/assets/${entries['theme.js']}"></script>
<link rel="stylesheet" href="/explorer/assets/${entries['main.css']}">
<script type="module" src="/explorer/assets/${entries['main.js']}"></script>
</head>
<body>
<div id="app"><noscript><main><h1>The web explorer needs JavaScript</h1><p>The <a href="/docs">API</a> returns the same data.</p></main></noscript></div>
</body>
</html>
`
