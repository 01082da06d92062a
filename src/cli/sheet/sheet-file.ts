import { randomBytes } from 'node:crypto'
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { redactSecrets } from '../../core/secret.ts'
import { CARDS_PER_SECTION } from './sections.ts'

const CHUNK_CHARS = 256 * 1024
/** The script takes what is between for text, and so does the browser until it is shown: a card has no such tags. */
const [SECTION, SECTION_END] = ['<noscript><section>\n', '</section></noscript>\n']

/**
 * A page that is written from its middle: what stands on top is known when the last row was read. It is there whole or
 * not at all, and memory holds a piece of it only.
 */
export class SheetFile {
  readonly #path: string
  readonly #bodyPath: string
  readonly #body: FileHandle
  #text = ''
  #cards = 0

  private constructor(path: string, bodyPath: string, body: FileHandle) {
    this.#path = path
    this.#bodyPath = bodyPath
    this.#body = body
  }

  /** @throws GdnError `usage` where a file can't be made there */
  static async open(path: string): Promise<SheetFile> {
    const bodyPath = draftOf(path)
    try {
      return new SheetFile(path, bodyPath, await open(bodyPath, 'wx+'))
    } catch (error) {
      throw cantWrite(path, error)
    }
  }

  async writeCard(html: string): Promise<void> {
    if (this.#cards % CARDS_PER_SECTION === 0) this.#text += `${this.#cards === 0 ? '' : SECTION_END}${SECTION}`
    this.#cards++
    this.#text += html
    if (this.#text.length >= CHUNK_CHARS) await this.#flush()
  }

  /** Puts the top before what was written, and the file in its place. `replace`: also in that of another file. */
  async finish(top: string, end: string, replace: boolean): Promise<void> {
    const draft = draftOf(this.#path)
    try {
      this.#text += `${this.#cards === 0 ? '<p class="none">There are no rows.</p>\n' : SECTION_END}${end}`
      await this.#flush()
      const file = await open(draft, 'wx')
      try {
        await file.appendFile(redactSecrets(top, 'plain'))
        const piece = Buffer.alloc(CHUNK_CHARS)
        for (let at = 0; ; ) {
          const { bytesRead } = await this.#body.read(piece, 0, piece.length, at)
          if (bytesRead === 0) break
          await file.appendFile(piece.subarray(0, bytesRead))
          at += bytesRead
        }
        await file.sync()
      } finally {
        await file.close()
      }
      await put(draft, this.#path, replace)
    } catch (error) {
      throw error instanceof GdnError ? error : cantWrite(this.#path, error)
    } finally {
      await rm(draft, { force: true })
    }
  }

  /** Leaves nothing but what was finished. */
  async close(): Promise<void> {
    await this.#body.close()
    await rm(this.#bodyPath, { force: true })
  }

  async #flush(): Promise<void> {
    const text = this.#text
    this.#text = ''
    try {
      await this.#body.appendFile(redactSecrets(text, 'plain'))
    } catch (error) {
      throw cantWrite(this.#path, error)
    }
  }
}

const draftOf = (path: string) => join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)

/** What has the name already is kept, unless it is to be replaced; where there are no links, as far as can be seen. */
async function put(draft: string, path: string, replace: boolean): Promise<void> {
  if (!replace) {
    try {
      return await link(draft, path)
    } catch (error) {
      if (systemCode(error) === 'EEXIST' || (await isThere(path))) throw existsAlready(path)
    }
  }
  await rename(draft, path)
}

/** Whether anything has this name: a link that leads nowhere doesn't count. */
export async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

const existsAlready = (path: string) =>
  new GdnError('usage', `${path} was made meanwhile`, {
    place: { flag: '--to' },
    hint: 'give another name, or --force',
  })

function cantWrite(path: string, error: unknown): GdnError {
  return new GdnError('usage', `can't write ${path}: ${messageOf(error)}`, {
    place: { flag: '--to' },
    hint: 'name a file in a folder that is there and yours',
    cause: error,
  })
}
