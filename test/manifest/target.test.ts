import { expect, test } from 'vitest'
import { validateManifest } from '../../src/manifest/read.ts'

test('reports a missing blockchain once, along with the other problems of the rows', async () => {
  async function* rows() {
    yield Buffer.from('title,description,receiver\nA,a,0x1\n,b,0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359\nC,c,\n')
  }
  const { issues } = await validateManifest({ stdin: rows() }, { blockchain: null, localFiles: false })
  expect(issues.map(({ place, message }) => `${place.line}: ${message}`)).toEqual([
    '2: blockchain is required',
    '3: title is required',
    '4: receiver is required',
  ])
})
