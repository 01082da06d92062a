import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CONTRACT, DATE, nft, OWNER, type Reply } from '../fake-api.ts'
import { tempHome } from '../harness.ts'

export const TARGET = ['-c', CONTRACT, '-b', 'polygon']
export const CSV = `title,description,receiver\nDawn,first,${OWNER}\nDusk,second,${OWNER}\n`

/** A home with a manifest in it. */
export async function folder(files: Record<string, string | Uint8Array> = { 'drop.csv': CSV }) {
  const { dir, env } = await tempHome()
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), text)
  }
  const path = (name: string) => join(dir, name)
  return { path, options: { env: { ...env, GDN_API_KEY: 'key' }, cwd: dir } }
}

/** A createnft that rejects rows by title and accepts all others, and a getnfts that returns the accepted ones. */
export function service(refuse: (title: string) => boolean = () => false) {
  const minted = new Map<string, ReturnType<typeof nft>>()
  return {
    createnft: ({ metadata, ...requests }: { metadata: { title: string }[] }): Reply => {
      if (metadata.some(({ title }) => refuse(title))) {
        return { status: 400, body: { error: { title: 'Bad Request', message: 'this one is not liked' } } }
      }
      const nfts = metadata.map((request_metadata) => {
        const id = `id-${minted.size}`
        minted.set(id, nft(id, { token_id: String(minted.size + 1), request_metadata }))
        return { nft_gdn_ids: id, accepted_date: DATE }
      })
      return { body: { message: 'ok', requests: { ...requests, metadata }, nfts } }
    },
    getnfts: ({ nft_gdn_ids }: { nft_gdn_ids: string[] }): Reply => ({
      body: { requests: { nft_gdn_ids }, nfts: nft_gdn_ids.flatMap((id) => minted.get(id) ?? []) },
    }),
  }
}
