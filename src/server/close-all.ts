/**
 * Closes what was opened, the last first, and once. One that can't be closed keeps no other open.
 *
 * @param undo emptied by this
 * @throws what the first of them said that couldn't be closed
 */
export async function closeAll(undo: (() => unknown)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of undo.splice(0).reverse()) {
    try {
      await step()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
