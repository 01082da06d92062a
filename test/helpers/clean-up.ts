type CleanUp = () => unknown

const afterTest: CleanUp[] = []
const afterFile: CleanUp[] = []

async function run(all: CleanUp[]): Promise<void> {
  for (const cleanUp of all.splice(0).reverse()) await cleanUp()
}

/** Runs a function after the test. Helpers can't use `afterEach`, because files of one process share them. */
export const whenTestDone = (cleanUp: CleanUp): void => void afterTest.push(cleanUp)

/** Runs a function after all tests of the file. */
export const whenFileDone = (cleanUp: CleanUp): void => void afterFile.push(cleanUp)

export const cleanUpTest = () => run(afterTest)
export const cleanUpFile = () => run(afterFile)
