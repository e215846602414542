// Lets a security key fill in the form that asks for one: reads what the key is
// to be told from the form, and sends its answer with it.
(() => {
  "use strict";
  const form = document.querySelector("form[data-key]");
  if (!form) return;
  const status = form.querySelector("[data-status]");
  const button = form.querySelector("button");
  const say = (text) => { status.textContent = text; };
  if (!window.PublicKeyCredential) {
    say("This browser knows no security keys.");
    return;
  }
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  const creating = form.dataset.key === "create";
  const options = JSON.parse(form.dataset.options);
  options.challenge = bytes(options.challenge);
  if (creating) options.user.id = bytes(options.user.id);
  for (const key of [...(options.excludeCredentials || []), ...(options.allowCredentials || [])]) key.id = bytes(key.id);

  const problems = {
    InvalidStateError: "This key is registered already.",
    NotAllowedError: "The key did not answer in time, or was refused. Try again.",
    SecurityError: "This page is not at the address that keys are registered for.",
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    say("Touch your key.");
    try {
      const key = await (creating ? navigator.credentials.create({ publicKey: options }) : navigator.credentials.get({ publicKey: options }));
      const said = key.response;
      const response = { clientDataJSON: text(said.clientDataJSON) };
      if (creating) {
        response.attestationObject = text(said.attestationObject);
        response.transports = said.getTransports ? said.getTransports() : [];
      } else {
        response.authenticatorData = text(said.authenticatorData);
        response.signature = text(said.signature);
        if (said.userHandle) response.userHandle = text(said.userHandle);
      }
      form.elements.answer.value = JSON.stringify({ id: key.id, rawId: text(key.rawId), type: key.type, response });
      form.submit();
    } catch (problem) {
      say(problems[problem.name] || "The key could not be used. Try again.");
      button.disabled = false;
    }
  });
  button.disabled = false;
})();
