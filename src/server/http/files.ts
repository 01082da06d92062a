import multipart, { type MultipartFile } from '@fastify/multipart'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import { files, MAX_FILE_BYTES } from '../../api/endpoints/files.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { messageOf } from '../../core/errors.ts'
import { contentProblem, readHead } from '../../files/file-content.ts'
import { badRequestError, Refusal } from '../services/refusals.ts'
import type { ServiceDeps } from '../services/services.ts'
import { ContentTooLargeError } from '../storage/adapter.ts'

/** Adds `POST /api/v1/files`, which stores an uploaded file and returns its CID for file_fields. */
export async function addFileRoutes(
  parent: FastifyInstance,
  { storage, checkedFiles }: Pick<ServiceDeps, 'storage' | 'checkedFiles'>,
  rules: { allowHtml: boolean },
): Promise<void> {
  const { name, path, permissions, errorForm } = files
  // Use a separate scope for the route, because no other route accepts forms, and this route accepts only forms.
  await parent.register(async (app) => {
    app.removeAllContentTypeParsers()
    // Without this header, clients apply the limit of the other endpoints.
    app.addHook('onRequest', async (_request, reply) => void reply.header(HEADERS.rateLimitPolicy, `"${name}"`))
    await app.register(multipart, {
      // Allow one byte more than the limit, so that the storage detects a file that is too large and discards it.
      limits: { files: 1, fields: 4, parts: 5, fileSize: MAX_FILE_BYTES + 1, headerPairs: 50 },
    })
    app.addContentTypeParser('*', (_request, _payload, done) => done(notAFormError()))
    for (const url of [path, `${path}/`]) {
      app.post(url, { config: { access: permissions, errorForm }, bodyLimit: MAX_FILE_BYTES * 2 }, async (request) => {
        if (!request.isMultipart()) throw notAFormError()
        try {
          const { file } = await readForm(request)
          const { cid } = await storage.add(checkedContent(file, rules), { maxBytes: MAX_FILE_BYTES })
          checkedFiles.set(cid, true)
          return { url: `ipfs://${cid}` }
        } catch (error) {
          // Read and discard the rest of the form, because it precedes the next request on the connection.
          request.raw.unpipe()
          request.raw.resume()
          if (error instanceof ContentTooLargeError) throw new Refusal(413, ERROR_TITLES.tooLarge, error.message)
          throw error
        }
      })
    }
  })
}

const notAFormError = () =>
  new Refusal(
    415,
    ERROR_TITLES.unsupportedMediaType,
    'the file must be sent as multipart/form-data, in the field "file"',
  )

const badFormError = (error: unknown) => badRequestError(`the form can't be read: ${messageOf(error)}`)

/** Returns the file of a form. Converts errors of the parser to 400, except exceeded limits, which stay 413. */
async function readForm(request: FastifyRequest) {
  let part: MultipartFile | undefined
  try {
    part = await request.file()
  } catch (error) {
    throw (error as FastifyError).statusCode === 413 ? error : badFormError(error)
  }
  if (part === undefined) throw badRequestError('the form has no file')
  return part
}

/** Yields the content of an uploaded file. Checks its first bytes before any of it is stored. */
async function* checkedContent(
  file: AsyncIterable<Uint8Array>,
  rules: { allowHtml: boolean },
): AsyncGenerator<Uint8Array> {
  const rest = readUpload(file)
  const head = await readHead(rest)
  const problem = contentProblem(head, rules)
  if (problem !== null) throw badRequestError(`the file is ${problem}, which is not allowed`)
  yield head
  yield* rest
}

/** Yields the bytes of a file as they arrive. If the file ends too early, the form is rejected. */
async function* readUpload(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* file
  } catch (error) {
    throw badFormError(error)
  }
}
