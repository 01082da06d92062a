import type { ENDPOINTS, EndpointName } from './endpoints.ts'

type Loaders = { [Name in EndpointName]: () => Promise<(typeof ENDPOINTS)[Name]> }

// Building the schemas of all endpoints takes longer than a call on loopback: a command loads those that it uses.
const LOADERS: Loaders = {
  createnft: async () => (await import('./endpoints/createnft.ts')).createnft,
  transfernft: async () => (await import('./endpoints/transfernft.ts')).transfernft,
  createnfttrans: async () => (await import('./endpoints/createnfttrans.ts')).createnfttrans,
  getnftgdnids: async () => (await import('./endpoints/getnftgdnids.ts')).getnftgdnids,
  getnfts: async () => (await import('./endpoints/getnfts.ts')).getnfts,
  getisgdnnft: async () => (await import('./endpoints/getisgdnnft.ts')).getisgdnnft,
  createcollection: async () => (await import('./endpoints/createcollection.ts')).createcollection,
  getpresignedurl: async () => (await import('./endpoints/getpresignedurl.ts')).getpresignedurl,
  getcollections: async () => (await import('./endpoints/getcollections.ts')).getcollections,
  gettransactions: async () => (await import('./endpoints/gettransactions.ts')).gettransactions,
  files: async () => (await import('./endpoints/files.ts')).files,
}

/** One endpoint of the contract, without loading the others. */
export function loadEndpoint<Name extends EndpointName>(name: Name): ReturnType<Loaders[Name]> {
  return LOADERS[name]() as ReturnType<Loaders[Name]>
}
