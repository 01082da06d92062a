import { type FileHandle, open, rm } from 'node:fs/promises'
import { GdnError } from '../../core/errors.ts'
import { redactSecrets } from '../../core/secret.ts'
import { createDraftPath, moveDraft, unwritableError } from '../io/write-file.ts'
import { CARDS_PER_SECTION } from './sections.ts'

const TO_FLAG = '--to'
const CHUNK_CHARS = 256 * 1024
/** Tags around a section. Browsers parse the cards in `noscript` as text. A card can't contain these tags. */
const [SECTION, SECTION_END] = ['<noscript><section>\n', '</section></noscript>\n']

/**
 * Writes a page whose top is known only after the last row. The file becomes visible only when it is complete. Only a
 * part of it is in memory.
 */
export class SheetFile {
  readonly #path: string
  readonly #bodyPath: string
  readonly #body: FileHandle
  #text = ''
  #sharedDefinitions = ''
  #cardCount = 0

  private constructor(path: string, bodyPath: string, body: FileHandle) {
    this.#path = path
    this.#bodyPath = bodyPath
    this.#body = body
  }

  /** @throws GdnError `usage` if the file can't be created */
  static async open(path: string): Promise<SheetFile> {
    const bodyPath = createDraftPath(path)
    try {
      return new SheetFile(path, bodyPath, await open(bodyPath, 'wx+'))
    } catch (error) {
      throw unwritableError(path, error, TO_FLAG)
    }
  }

  /** @param shared SVG definitions of images that this card and others use */
  async writeCard(html: string, shared = ''): Promise<void> {
    if (this.#cardCount % CARDS_PER_SECTION === 0)
      this.#text += `${this.#cardCount === 0 ? '' : this.#sectionEnd()}${SECTION}`
    this.#cardCount++
    this.#text += html
    this.#sharedDefinitions += shared
    if (this.#text.length >= CHUNK_CHARS) await this.#flush()
  }

  /**
   * Adds the top and moves the file to its path. Overwrites an existing file only with `replace`.
   *
   * @throws GdnError `usage`
   */
  async finish(top: string, end: string, replace: boolean): Promise<void> {
    const draft = createDraftPath(this.#path)
    try {
      this.#text += `${this.#cardCount === 0 ? '<p class="none">There are no rows.</p>\n' : this.#sectionEnd()}${end}`
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
      await moveDraft(draft, this.#path, { replace, flag: TO_FLAG })
    } catch (error) {
      throw error instanceof GdnError ? error : unwritableError(this.#path, error, TO_FLAG)
    } finally {
      await rm(draft, { force: true })
    }
  }

  /** Deletes the draft. Must also be called after `finish`. */
  async close(): Promise<void> {
    await this.#body.close()
    await rm(this.#bodyPath, { force: true })
  }

  /**
   * Returns the end of a section and the definitions of its images. The definitions are outside of the section, so that
   * other sections can use them.
   */
  #sectionEnd(): string {
    const shared = this.#sharedDefinitions
    this.#sharedDefinitions = ''
    return shared === '' ? SECTION_END : `${SECTION_END}<svg class="shared" aria-hidden="true">${shared}</svg>\n`
  }

  async #flush(): Promise<void> {
    const text = this.#text
    this.#text = ''
    try {
      await this.#body.appendFile(redactSecrets(text, 'plain'))
    } catch (error) {
      throw unwritableError(this.#path, error, TO_FLAG)
    }
  }
}
