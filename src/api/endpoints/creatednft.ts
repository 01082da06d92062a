import { defineCreatingEndpoint } from '../endpoint.ts'
import { createnft } from './createnft.ts'

const { permissions, creates, request, response, example } = createnft

/**
 * Takes everything that createnft takes. The reference's rules for its file fields are narrower (API reference v1.2).
 */
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
