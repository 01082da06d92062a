import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { MAX_FILE_BYTES } from '../../api/endpoints/files.ts'
import { ENDPOINTS } from '../../api/endpoints.ts'
import { TITLES } from '../../api/errors.ts'
import { badRequest, Refusal } from '../services/refusal.ts'
import { ContentTooLargeError, type FileStorage } from '../storage/adapter.ts'

/** `POST /api/v1/files`: stores an uploaded file under its CID, which goes into file_fields. */
export async function addFileRoutes(parent: FastifyInstance, storage: FileStorage): Promise<void> {
  const { path, permissions, errorForm } = ENDPOINTS.files
  // In a scope of its own: no other route takes forms.
  await parent.register(async (app) => {
    await app.register(multipart, {
      limits: { files: 1, fields: 4, parts: 5, fileSize: MAX_FILE_BYTES, headerPairs: 50 },
      throwFileSizeLimit: true,
    })
    for (const url of [path, `${path}/`]) {
      app.post(url, { config: { access: permissions, errorForm }, bodyLimit: MAX_FILE_BYTES * 2 }, async (request) => {
        if (!request.isMultipart()) {
          const message = 'send the file as multipart/form-data, in the field "file"'
          throw new Refusal(415, TITLES.unsupportedMediaType, message)
        }
        const part = await request.file()
        if (part === undefined) throw badRequest('the form has no file')
        try {
          const { cid } = await storage.add(part.file, { maxBytes: MAX_FILE_BYTES })
          if (part.file.truncated) throw new ContentTooLargeError(MAX_FILE_BYTES)
          return { url: `ipfs://${cid}` }
        } catch (error) {
          if (error instanceof ContentTooLargeError) throw new Refusal(413, TITLES.tooLarge, error.message)
          throw error
        }
      })
    }
  })
}
