import { expect, test } from 'vitest'
import { pack } from '../../src/build/pack.mjs'

const PLAN = new Map([
  ['main.js', 'main'],
  ['one-AAAAAAAA.js', 'one-AAAAAAAA'],
  ['two-BBBBBBBB.js', 'two-BBBBBBBB'],
])

async function namesWith(two: string): Promise<string[]> {
  const chunks = [
    { path: 'main.js', text: 'import{one}from"./one-AAAAAAAA.js";function main(){return one}export{main};' },
    { path: 'one-AAAAAAAA.js', text: 'import{two}from"./two-BBBBBBBB.js";var one=two;export{one};' },
    { path: 'two-BBBBBBBB.js', text: `var two=${two};export{two};` },
  ]
  const files = await pack(chunks, PLAN)
  return files.map(({ name }) => name)
}

test('a file has another name when a file that it loads has: compiled code is kept by these names', async () => {
  const [, one, two] = await namesWith('2')
  const [, otherOne, otherTwo] = await namesWith('3')
  expect(two).not.toBe(otherTwo)
  expect(one).not.toBe(otherOne)
  expect((await namesWith('2')).slice(1)).toEqual([one, two])
})
