import { expect, test } from 'vitest'
import { BOB, Machine, row, Server } from './world.ts'

test('a removed row is named as it was last applied, at its line in the rows that were read last', async () => {
  const machine = await Machine.start(new Server())
  const at = (line: number, id: string, title = id) => ({ ...row(id, undefined, title), line })
  await machine.mint([at(2, 'a'), at(3, 'b'), at(4, 'c')])
  await machine.applyAndNote(
    [at(2, 'c'), at(3, 'a'), { ...at(4, 'b', 'Edited'), receiver: BOB }],
    ['update', 'transfer'],
  )
  const renamed = { ...at(4, 'new', 'Edited'), receiver: BOB }
  await expect(machine.mint([at(2, 'c'), at(3, 'a'), renamed])).rejects.toMatchObject({
    code: 'edited_rows',
    details: { pairs: [{ line: 4, title: 'Edited', changes: [{ field: 'id', from: 'b', to: 'new' }] }] },
  })
})
