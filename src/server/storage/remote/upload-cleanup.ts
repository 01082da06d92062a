import type { StorageClient, StorageRequest, StorageTextResponse } from './storage-client.ts'

/**
 * Aborts uploads that killed processes left unfinished. Their parts would stay in the bucket, where they are invisible
 * but cost money.
 */
export interface UploadCleanup {
  /**
   * Aborts at most a thousand of this backend's uploads that began before the given time.
   *
   * @returns the number of aborted uploads; null if the credentials can't list them
   */
  end(before: Date): Promise<number | null>
}

export interface UploadCleanupOptions {
  client: Pick<StorageClient, 'ask'>
  signRequest: (request: StorageRequest) => Promise<StorageRequest>
  /** Returns the URL of a key, or of the bucket if the key is empty, with a query. */
  urlOf: (key: string, query: string) => string
  prefix: string
  rejectionError: (response: StorageTextResponse) => Error
}

/** Matches gdn's keys, which are CIDs in base32. Other programs may use the same bucket. */
const OWN_KEY = /^ba[a-z2-7]{50,}$/
const UNSUPPORTED_STATUSES = new Set([403, 405, 501])

export function createUploadCleanup({
  client,
  signRequest,
  urlOf,
  prefix,
  rejectionError,
}: UploadCleanupOptions): UploadCleanup {
  const ask = (method: 'GET' | 'DELETE', url: string) => client.ask(() => signRequest({ method, url }))
  return {
    async end(before) {
      const listed = await ask('GET', urlOf('', `?prefix=${encodeURIComponent(prefix)}&uploads=`))
      if (UNSUPPORTED_STATUSES.has(listed.status)) return null
      if (listed.status !== 200) throw rejectionError(listed)
      let ended = 0
      for (const [, upload = ''] of listed.body.toString('utf8').matchAll(/<Upload>([\s\S]*?)<\/Upload>/g)) {
        const [key, id, begun] = ['Key', 'UploadId', 'Initiated'].map((name) => parseXmlText(upload, name))
        if (key === undefined || id === undefined || !key.startsWith(prefix)) continue
        const name = key.slice(prefix.length)
        if (!OWN_KEY.test(name) || !(Date.parse(begun ?? '') < before.getTime())) continue
        const { status } = await ask('DELETE', urlOf(name, `?uploadId=${encodeURIComponent(id)}`))
        if (status === 204 || status === 200) ended += 1
      }
      return ended
    },
  }
}

function parseXmlText(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text === undefined ? undefined : unescapeXml(text)
}

const XML: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" }

export const unescapeXml = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|apos);/g, (entity) => XML[entity] ?? entity)
