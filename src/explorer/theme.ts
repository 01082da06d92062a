// Loaded in the head and run before the first paint, so that the other colors don't flash.
{
  const chosen = (() => {
    try {
      return localStorage.getItem('theme')
    } catch {
      return null
    }
  })()
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
}
