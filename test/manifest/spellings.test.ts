import { expect, test } from 'vitest'
import { RowWarnings } from '../../src/manifest/row-warnings.ts'
import { ALICE, read } from './helpers.ts'

test('warns once about traits and values that differ only in case, with their lines', async () => {
  const csv = `id,title,description,image,receiver,attr:Sky,attr:sky,attr:Hat
1,A,x,https://example.com/1.png,${ALICE},Red,,Cap
2,B,x,https://example.com/2.png,${ALICE},red,,Cap
3,C,x,https://example.com/3.png,${ALICE},red,,Red
4,D,x,https://example.com/4.png,${ALICE},Red,Blue,Cap
`
  const warnings = new RowWarnings('drop.csv')
  await read(csv, { format: 'csv', ...warnings.begin() })
  const hint = 'Use one spelling. Otherwise, marketplaces show both.'
  expect(warnings.all).toEqual([
    {
      place: { file: 'drop.csv', line: 3 },
      message: 'the value "red" of "Sky" differs only in case from "Red" on line 2',
      hint,
    },
    {
      place: { file: 'drop.csv', line: 5 },
      message: 'the trait "sky" differs only in case from "Sky" on line 2',
      hint,
    },
  ])
})
