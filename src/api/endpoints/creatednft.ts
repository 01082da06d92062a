import { defineCreatingEndpoint } from '../endpoint.ts'
import { createnft } from './createnft.ts'

const { permissions, creates, request, response, example } = createnft

/** Accepts the same request as createnft. The reference allows fewer file fields here (API reference v1.2). */
export const creatednft = defineCreatingEndpoint({
  name: 'creatednft',
  summary: 'Create NFTs whose metadata can be updated',
  origin: 'extension',
  v12: { origin: 'reference' },
  permissions,
  creates,
  request,
  response,
  example,
})
