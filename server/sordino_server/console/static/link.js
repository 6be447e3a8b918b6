// A sign-in link has its token behind "#", which browsers send to nobody: put it into the form, and out of the address.
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", location.pathname);
  const form = document.getElementById("by-link");
  form.elements.link.value = token;
  form.submit();
}
