import { defineCreatingEndpoint } from '../endpoint.ts'
import { createnft } from './createnft.ts'

const { permissions, creates, request, response, example } = createnft

/**
 * Accepts everything that createnft accepts. The reference has stricter rules for the file fields (API reference v1.2).
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
